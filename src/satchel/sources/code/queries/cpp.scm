(class_specifier name: (_) @name body: (_) @body) @class
(namespace_definition name: (_) @name body: (_) @body) @module
(alias_declaration name: (_) @name) @class
(concept_definition name: (_) @name) @class
(template_declaration [
  (function_definition)
  (class_specifier)
  (struct_specifier)
  (union_specifier)
  (alias_declaration)
  (concept_definition)
] @inner) @outer

(declaration_list (declaration declarator: [
  (identifier) @constant
  (init_declarator declarator: (_) @declarator)
])) @constants

; A pure virtual function.
(field_declaration declarator: [
  (function_declarator declarator: (field_identifier) @constant)
  (pointer_declarator declarator: (function_declarator declarator: (field_identifier) @constant))
  (reference_declarator (function_declarator declarator: (field_identifier) @constant))
] default_value: (_))

(base_class_clause [
  (type_identifier) @inherit
  (template_type name: (_) @inherit)
  (qualified_identifier name: [
    (type_identifier) @inherit
    (template_type name: (_) @inherit)
    (qualified_identifier name: [(type_identifier) @inherit (template_type name: (_) @inherit)])
  ])
])

(call_expression function: [
  (template_function name: (_) @call)
  (field_expression field: (template_method name: (_) @call))
  (qualified_identifier name: [
    (identifier) @call
    (template_function name: (_) @call)
    (qualified_identifier name: [
      (identifier) @call
      (template_function name: (_) @call)
      (qualified_identifier name: [(identifier) @call (template_function name: (_) @call)])
    ])
  ])
])
(new_expression type: [
  (type_identifier) @call
  (template_type name: (_) @call)
  (qualified_identifier name: [
    (type_identifier) @call
    (template_type name: (_) @call)
    (qualified_identifier name: [(type_identifier) @call (template_type name: (_) @call)])
  ])
])

; A class or namespace whose closing brace is missing.
(ERROR ["class" "struct"] . (type_identifier) @name) @class
(ERROR "namespace" . (namespace_identifier) @name) @module
(ERROR "namespace" . (identifier) @name) @module
