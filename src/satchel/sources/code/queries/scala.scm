(class_definition name: (_) @name) @class
(class_definition name: (_) @name body: (_) @body) @class
(object_definition name: (_) @name) @class
(object_definition name: (_) @name body: (_) @body) @class
(trait_definition name: (_) @name) @class
(trait_definition name: (_) @name body: (_) @body) @class
(enum_definition name: (_) @name body: (_) @body) @class
(package_object name: (_) @name) @class
(package_object name: (_) @name body: (_) @body) @class
(given_definition name: (_) @name) @class
(given_definition name: (_) @name body: (with_template_body) @body) @class
(compilation_unit (type_definition name: (_) @name) @class)

(function_definition name: (_) @name body: (_) @body) @function
(function_declaration name: (_) @constant)
(type_definition name: (_) @constant)
(val_definition pattern: (identifier) @constant)
(var_definition pattern: (identifier) @constant)
(val_declaration name: (identifier) @constant)
(var_declaration name: (identifier) @constant)
(simple_enum_case name: (_) @constant)
(full_enum_case name: (_) @constant)

(extends_clause [
  (type_identifier) @inherit
  (stable_type_identifier (type_identifier) @inherit .)
  (generic_type type: [(type_identifier) @inherit (stable_type_identifier (type_identifier) @inherit .)])
])

(call_expression function: [(identifier) @call (generic_function function: (identifier) @call)])
; A method without arguments is called like a field.
(field_expression field: (identifier) @call)
(infix_expression operator: (identifier) @call)
(instance_expression . [
  (type_identifier) @call
  (stable_type_identifier (type_identifier) @call .)
  (generic_type type: [(type_identifier) @call (stable_type_identifier (type_identifier) @call .)])
])
(annotation name: (type_identifier) @call)

(annotation) @prefix
(comment) @comment
(block_comment) @comment
(import_declaration) @import

; A class whose closing brace is missing.
(ERROR ["class" "object" "trait" "enum"] . (identifier) @name) @class
