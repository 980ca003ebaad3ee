(function_declaration name: (identifier) @name body: (block) @body) @function
(function_declaration name: (identifier) @constant !body)
(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @owner
    (pointer_type (type_identifier) @owner)
    (generic_type type: (type_identifier) @owner)
    (pointer_type (generic_type type: (type_identifier) @owner))
  ]))
  name: (field_identifier) @name
  body: (block) @body) @function
(source_file (var_declaration (var_spec
  name: (identifier) @name value: (expression_list . (func_literal body: (block) @body) .)) @function))

(type_spec name: (type_identifier) @name) @class
(type_spec name: (type_identifier) @name type: (struct_type (field_declaration_list) @body)) @class
(type_spec name: (type_identifier) @name type: (interface_type "{" @body)) @class
(type_alias name: (type_identifier) @name) @class

(field_declaration !name type: [
  (type_identifier) @inherit
  (qualified_type name: (_) @inherit)
  (generic_type type: (type_identifier) @inherit)
])
(interface_type (type_elem . [(type_identifier) @inherit (qualified_type name: (_) @inherit)] .))
(method_elem name: (_) @constant)

(source_file (const_declaration (const_spec name: (identifier) @constant)))
(source_file (var_declaration (var_spec name: (identifier) @constant)))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @constant))))

(call_expression function: [
  (identifier) @call
  (selector_expression field: (_) @call)
  (index_expression operand: [(identifier) @call (selector_expression field: (_) @call)])
  (type_instantiation_expression type: (_) @call)
])
(composite_literal type: [
  (type_identifier) @call
  (qualified_type name: (_) @call)
  (generic_type type: (type_identifier) @call)
])

(comment) @comment
(import_spec) @import
