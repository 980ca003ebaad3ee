; Shared by C and C++.

(function_definition declarator: (_) @declarator body: (_) @body) @function

(struct_specifier name: (_) @name body: (_) @body) @class
(union_specifier name: (_) @name body: (_) @body) @class
(enum_specifier name: (_) @name body: (_) @body) @class
(type_definition type: (_ !body) declarator: (_) @declarator) @class
(type_definition type: (_ !name body: (_) @body) declarator: (_) @declarator) @class
(type_definition type: (_ name: (_) body: (_)) declarator: (type_identifier) @constant)

(preproc_def name: (_) @constant value: (_))
(preproc_function_def name: (_) @constant)
(enumerator name: (_) @constant)
(translation_unit (declaration declarator: [
  (identifier) @constant
  (init_declarator declarator: (_) @declarator)
  (pointer_declarator declarator: (identifier) @constant)
  (array_declarator declarator: (identifier) @constant)
])) @constants
(preproc_ifdef (declaration declarator: [
  (identifier) @constant
  (init_declarator declarator: (_) @declarator)
  (pointer_declarator declarator: (identifier) @constant)
  (array_declarator declarator: (identifier) @constant)
])) @constants
(preproc_if (declaration declarator: [
  (identifier) @constant
  (init_declarator declarator: (_) @declarator)
  (pointer_declarator declarator: (identifier) @constant)
  (array_declarator declarator: (identifier) @constant)
])) @constants

(call_expression function: [
  (identifier) @call
  (field_expression field: (field_identifier) @call)
])

(comment) @comment
(preproc_include) @import
