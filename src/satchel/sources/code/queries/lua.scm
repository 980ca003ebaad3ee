(function_declaration name: (_) @name) @function
(function_declaration name: (_) @name body: (_) @body) @function
(assignment_statement
  (variable_list . name: [(identifier) (dot_index_expression)] @name .)
  (expression_list . value: (function_definition "function" @body) .)) @function
(table_constructor (field name: (identifier) @name value: (function_definition "function" @body)) @function)

; A table that holds functions reads like a class.
(variable_declaration (assignment_statement (variable_list . name: (_) @name .)
  (expression_list . value: (table_constructor (field name: (_) value: (function_definition))) @body .))) @class

(chunk (variable_declaration (assignment_statement (variable_list name: (identifier) @constant))))
(chunk (assignment_statement (variable_list name: [(identifier) (dot_index_expression)] @constant)))

(table_constructor (field name: (identifier) @_word value: (identifier) @inherit)
  (#set! when "^__index$"))
(function_call name: (method_index_expression table: (identifier) @inherit method: (identifier) @_word)
  (#set! when "^(extend|subclass|derive|inherit)$"))

(function_call name: [
  (identifier) @call
  (dot_index_expression field: (identifier) @call)
  (method_index_expression method: (identifier) @call)
])

(comment) @comment
(function_call name: (identifier) @_word arguments: (arguments . (string))
  (#set! when "^require$")) @import
