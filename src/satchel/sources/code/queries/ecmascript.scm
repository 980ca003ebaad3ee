; Shared by JavaScript, TypeScript and TSX.

(function_declaration name: (_) @name body: (_) @body) @function
(generator_function_declaration name: (_) @name body: (_) @body) @function
(method_definition name: (_) @name body: (_) @body) @function
(class_declaration name: (_) @name body: (_) @body) @class

(variable_declarator name: (identifier) @name value: [
  (arrow_function body: (_) @body)
  (function_expression body: (_) @body)
  (generator_function body: (_) @body)
]) @function
(assignment_expression left: [(identifier) (member_expression)] @name right: [
  (arrow_function body: (_) @body)
  (function_expression body: (_) @body)
  (generator_function body: (_) @body)
]) @function
(export_statement "default" @name value: [
  (arrow_function body: (_) @body)
  (function_expression body: (_) @body)
]) @function
(export_statement "default" @name value: (class !name body: (_) @body)) @class
(export_statement value: (class name: (_) @name body: (_) @body)) @class
(variable_declarator name: (identifier) @name value: (class body: (_) @body)) @class
(assignment_expression left: [(identifier) (member_expression)] @name right: (class body: (_) @body)) @class

; A function wrapped in a call: memo(function () {}), defineStore(() => {}).
(program (lexical_declaration (variable_declarator name: (identifier) @name value: (call_expression
  arguments: (arguments . [
    (arrow_function body: (statement_block) @body)
    (function_expression body: (_) @body)
  ]))) @function))
(program (export_statement declaration: (lexical_declaration (variable_declarator
  name: (identifier) @name value: (call_expression arguments: (arguments . [
    (arrow_function body: (statement_block) @body)
    (function_expression body: (_) @body)
  ]))) @function)))

; An object that holds functions reads like a class.
(variable_declarator name: (identifier) @name
  value: (object [(method_definition) (pair value: [(arrow_function) (function_expression)])]) @body) @class
(assignment_expression left: [(identifier) (member_expression)] @name
  right: (object [(method_definition) (pair value: [(arrow_function) (function_expression)])]) @body) @class
(export_statement "default" @name
  value: (object [(method_definition) (pair value: [(arrow_function) (function_expression)])]) @body) @class
(variable_declarator value: (object (pair key: (_) @name value: [
  (arrow_function body: (_) @body) (function_expression body: (_) @body)]) @function))
(assignment_expression right: (object (pair key: (_) @name value: [
  (arrow_function body: (_) @body) (function_expression body: (_) @body)]) @function))
(export_statement value: (object (pair key: (_) @name value: [
  (arrow_function body: (_) @body) (function_expression body: (_) @body)]) @function))

(program (lexical_declaration (variable_declarator name: (identifier) @constant)))
(program (variable_declaration (variable_declarator name: (identifier) @constant)))
(program (export_statement declaration: (lexical_declaration (variable_declarator name: (identifier) @constant))))
(program (export_statement declaration: (variable_declaration (variable_declarator name: (identifier) @constant))))
(program (expression_statement (assignment_expression left: (member_expression) @constant)))

(call_expression function: [
  (identifier) @call
  (member_expression property: (_) @call)
])
(new_expression constructor: [
  (identifier) @call
  (member_expression property: (_) @call)
])
(decorator [(identifier) @call (member_expression property: (_) @call)])

(decorator) @prefix
(comment) @comment

(import_statement) @import
(export_statement source: (_)) @import
(variable_declarator value: (call_expression
  function: (identifier) @_word arguments: (arguments . (string)))
  (#set! when "^require$")) @import
(program (expression_statement (call_expression
  function: (identifier) @_word arguments: (arguments . (string))) @import)
  (#set! when "^require$"))
(call_expression function: (import) arguments: (arguments . (string))) @import
