(class_declaration name: (_) @name body: (_) @body) @class
(interface_declaration name: (_) @name body: (_) @body) @class
(enum_declaration name: (_) @name body: (_) @body) @class
(record_declaration name: (_) @name body: (_) @body) @class
(annotation_type_declaration name: (_) @name body: (_) @body) @class

(method_declaration name: (_) @name body: (_) @body) @function
(method_declaration name: (_) @constant !body)
(constructor_declaration name: (_) @name body: (_) @body) @function
(compact_constructor_declaration name: (_) @name body: (_) @body) @function

(field_declaration declarator: (variable_declarator name: (_) @constant value: (_)))
(constant_declaration declarator: (variable_declarator name: (_) @constant))
(enum_constant name: (_) @constant)
(annotation_type_element_declaration name: (_) @constant)

(superclass [
  (type_identifier) @inherit
  (scoped_type_identifier (type_identifier) @inherit .)
  (generic_type [(type_identifier) @inherit (scoped_type_identifier (type_identifier) @inherit .)])
])
(type_list [
  (type_identifier) @inherit
  (scoped_type_identifier (type_identifier) @inherit .)
  (generic_type [(type_identifier) @inherit (scoped_type_identifier (type_identifier) @inherit .)])
])

(method_invocation name: (_) @call)
(method_reference (identifier) @call .)
(object_creation_expression type: [
  (type_identifier) @call
  (scoped_type_identifier (type_identifier) @call .)
  (generic_type [(type_identifier) @call (scoped_type_identifier (type_identifier) @call .)])
])
(marker_annotation name: [(identifier) @call (scoped_identifier name: (_) @call)])
(annotation name: [(identifier) @call (scoped_identifier name: (_) @call)])

(marker_annotation) @prefix
(annotation) @prefix
(line_comment) @comment
(block_comment) @comment
(import_declaration) @import

; A class whose closing brace is missing.
(ERROR ["class" "interface" "enum"] . (identifier) @name) @class
(ERROR ["class" "interface" "enum"] . name: (identifier) @name) @class
