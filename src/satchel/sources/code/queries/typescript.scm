(abstract_class_declaration name: (_) @name body: (_) @body) @class
(interface_declaration name: (_) @name body: (_) @body) @class
(enum_declaration name: (_) @name body: (_) @body) @class
(type_alias_declaration name: (_) @name) @class
(type_alias_declaration name: (_) @name value: (object_type) @body) @class
(internal_module name: (_) @name body: (_) @body) @module
(module name: (_) @name body: (_) @body) @module

(function_signature name: (_) @name) @overload
(class_body (method_signature name: (_) @name) @overload)
(interface_body (method_signature name: (_) @constant))
(abstract_method_signature name: (_) @constant)
(enum_body name: (_) @constant)
(enum_assignment name: (_) @constant)
(public_field_definition name: (_) @constant value: (_))
(public_field_definition name: (_) @name value: [
  (arrow_function body: (_) @body)
  (function_expression body: (_) @body)
]) @function

(extends_clause value: [(identifier) @inherit (member_expression property: (_) @inherit)])
(extends_clause value: (call_expression arguments: (arguments (identifier) @inherit)))
(implements_clause [
  (type_identifier) @inherit
  (nested_type_identifier name: (_) @inherit)
  (generic_type name: [(type_identifier) @inherit (nested_type_identifier name: (_) @inherit)])
])
(extends_type_clause type: [
  (type_identifier) @inherit
  (nested_type_identifier name: (_) @inherit)
  (generic_type name: [(type_identifier) @inherit (nested_type_identifier name: (_) @inherit)])
])

; A class or namespace whose closing brace is missing.
(ERROR "class" . (type_identifier) @name) @class
(ERROR "namespace" . (identifier) @name) @module
