; What the capture names mean is written in ../grammar.py.

(function_definition name: (identifier) @name body: (block) @body) @function
(class_definition name: (identifier) @name body: (block) @body) @class
(type_alias_statement left: (type [(identifier) @name (generic_type . (identifier) @name)])) @class

(class_definition superclasses: (argument_list [
  (identifier) @inherit
  (attribute attribute: (identifier) @inherit)
  (subscript value: [(identifier) @inherit (attribute attribute: (identifier) @inherit)])
]))

(call function: [(identifier) @call (attribute attribute: (identifier) @call)])
(decorator [(identifier) @call (attribute attribute: (identifier) @call)])

(module (expression_statement (assignment left: [(identifier) @constant (pattern_list (identifier) @constant)])))
(module (if_statement (block (expression_statement (assignment left: (identifier) @constant)))))
(module (try_statement (block (expression_statement (assignment left: (identifier) @constant)))))
(class_definition body: (block
  (expression_statement (assignment left: [(identifier) @constant (pattern_list (identifier) @constant)]))))

(decorator) @prefix
(comment) @comment
(expression_statement . (string) @doc .)

(import_statement) @import
(import_from_statement) @import
(future_import_statement) @import
