(class_declaration name: (_) @name body: (_) @body) @class
(struct_declaration name: (_) @name body: (_) @body) @class
(interface_declaration name: (_) @name body: (_) @body) @class
(enum_declaration name: (_) @name body: (_) @body) @class
(record_declaration name: (_) @name) @class
(record_declaration name: (_) @name body: (_) @body) @class
(delegate_declaration name: (_) @name) @class
(namespace_declaration name: (_) @name body: (_) @body) @module
(file_scoped_namespace_declaration name: (_) @name) @scope

(method_declaration name: (_) @name body: (_) @body) @function
(method_declaration name: (_) @constant !body)
(constructor_declaration name: (_) @name body: (_) @body) @function
(destructor_declaration name: (_) @name body: (_) @body) @function
(operator_declaration operator: _ @name body: (_) @body) @function
(conversion_operator_declaration type: (_) @name body: (_) @body) @function
(local_function_statement name: (_) @name body: (_) @body) @function
(property_declaration name: (_) @name accessors: (accessor_list (accessor_declaration body: (_))) @body) @function
(property_declaration name: (_) @constant)
(indexer_declaration "this" @name accessors: (accessor_list (accessor_declaration body: (_))) @body) @function

(field_declaration (variable_declaration (variable_declarator name: (_) @constant)))
(event_field_declaration (variable_declaration (variable_declarator name: (_) @constant)))
(enum_member_declaration name: (_) @constant)

(base_list [
  (identifier) @inherit
  (generic_name . (identifier) @inherit)
  (qualified_name name: [(identifier) @inherit (generic_name . (identifier) @inherit)])
  (primary_constructor_base_type type: [(identifier) @inherit (generic_name . (identifier) @inherit)])
])

(invocation_expression function: [
  (identifier) @call
  (generic_name . (identifier) @call)
  (member_access_expression name: [(identifier) @call (generic_name . (identifier) @call)])
  (conditional_access_expression (member_binding_expression name: [
    (identifier) @call (generic_name . (identifier) @call)]))
])
(object_creation_expression type: [
  (identifier) @call
  (generic_name . (identifier) @call)
  (qualified_name name: [(identifier) @call (generic_name . (identifier) @call)])
])
(attribute name: [(identifier) @call (qualified_name name: (identifier) @call)])

(attribute_list) @prefix
(comment) @comment
(using_directive) @import

; A class or namespace whose closing brace is missing.
(ERROR ["class" "struct" "interface" "record"] . name: (identifier) @name) @class
(ERROR ["class" "struct" "interface" "record"] . (identifier) @name) @class
(ERROR "namespace" . [(identifier) (qualified_name)] @name) @module
