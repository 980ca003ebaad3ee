(class_declaration name: (_) @name body: (_) @body) @class
(protocol_declaration name: (_) @name body: (_) @body) @class
(typealias_declaration name: (type_identifier) @name) @class

(function_declaration name: (simple_identifier) @name body: (_) @body) @function
(init_declaration name: "init" @name body: (_) @body) @function
(deinit_declaration "deinit" @name body: (_) @body) @function
(subscript_declaration "subscript" @name (computed_property) @body) @function
(property_declaration name: (pattern bound_identifier: (_) @name) computed_value: (_) @body) @function

(protocol_function_declaration name: (simple_identifier) @constant)
(protocol_property_declaration name: (pattern bound_identifier: (_) @constant))
(associatedtype_declaration name: (_) @constant)
(property_declaration name: (pattern bound_identifier: (_) @constant))
(enum_entry name: (simple_identifier) @constant)

(inheritance_specifier inherits_from: (user_type (type_identifier) @inherit . (type_arguments)? .))

(call_expression . [
  (simple_identifier) @call
  (navigation_expression suffix: (navigation_suffix suffix: (simple_identifier) @call))
  (prefix_expression target: (simple_identifier) @call)
])
(constructor_expression constructed_type: (user_type (type_identifier) @call . (type_arguments)? .))
(attribute (user_type (type_identifier) @call . (type_arguments)? .))

(attribute) @prefix
(comment) @comment
(multiline_comment) @comment
(import_declaration) @import

; A class whose closing brace is missing.
(ERROR (simple_identifier) @name . [(type_parameters) (inheritance_specifier)]) @class
(ERROR ["class" "struct" "enum" "protocol" "extension" "actor"] . [(type_identifier) (simple_identifier)] @name) @class
