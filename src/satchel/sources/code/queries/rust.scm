(function_item name: (_) @name body: (_) @body) @function
(function_signature_item name: (_) @constant)
(macro_definition name: (_) @name ["{" "(" "["] @body) @function

(struct_item name: (_) @name) @class
(struct_item name: (_) @name body: (_) @body) @class
(enum_item name: (_) @name body: (_) @body) @class
(union_item name: (_) @name body: (_) @body) @class
(trait_item name: (_) @name body: (_) @body) @class
(impl_item type: (_) @name body: (_) @body) @class
(mod_item name: (_) @name body: (_) @body) @module
(source_file (type_item name: (_) @name) @class)
(mod_item body: (declaration_list (type_item name: (_) @name) @class))

(type_item name: (_) @constant)
(associated_type name: (_) @constant)
(const_item name: (_) @constant)
(static_item name: (_) @constant)
(enum_variant name: (_) @constant)

(impl_item trait: [
  (type_identifier) @inherit
  (scoped_type_identifier name: (_) @inherit)
  (generic_type type: [(type_identifier) @inherit (scoped_type_identifier name: (_) @inherit)])
])
(trait_item bounds: (trait_bounds [
  (type_identifier) @inherit
  (scoped_type_identifier name: (_) @inherit)
  (generic_type type: [(type_identifier) @inherit (scoped_type_identifier name: (_) @inherit)])
]))

(call_expression function: [
  (identifier) @call
  (scoped_identifier name: (_) @call)
  (field_expression field: (field_identifier) @call)
  (generic_function function: [
    (identifier) @call
    (scoped_identifier name: (_) @call)
    (field_expression field: (field_identifier) @call)
  ])
])
(macro_invocation macro: [(identifier) @call (scoped_identifier name: (_) @call)])
(struct_expression name: [
  (type_identifier) @call
  (scoped_type_identifier name: (_) @call)
  (generic_type_with_turbofish type: (_) @call)
])
; The arguments of a macro are not parsed: a name before a parenthesis is a call there.
(token_tree (identifier) @possible_call . (token_tree))

; cfg_feature! { fn a() {} }: its items are read in a second pass.
(source_file (macro_invocation (token_tree) @embedded))
(source_file (expression_statement (macro_invocation (token_tree) @embedded)))
(declaration_list (macro_invocation (token_tree) @embedded))

(attribute_item) @prefix
(line_comment) @comment
(block_comment) @comment

(use_declaration) @import
(extern_crate_declaration) @import
(mod_item !body) @import

; A block whose closing brace is missing.
(ERROR ["struct" "enum" "trait"] . (type_identifier) @name) @class
(ERROR "impl" . (type_parameters)? . [(type_identifier) (generic_type)] @name . (declaration_list)?) @class
(ERROR "for" . [(type_identifier) (generic_type)] @name) @class
(ERROR "mod" . (identifier) @name) @module
