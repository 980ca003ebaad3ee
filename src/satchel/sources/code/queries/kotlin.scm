(class_declaration name: (_) @name) @class
(class_declaration name: (_) @name [(class_body) (enum_class_body)] @body) @class
(object_declaration name: (_) @name) @class
(object_declaration name: (_) @name (class_body) @body) @class
(type_alias type: (_) @name) @class

(function_declaration name: (_) @name (function_body) @body) @function
(function_declaration
  [(user_type (identifier) @owner . (type_arguments)? .)
   (nullable_type (user_type (identifier) @owner . (type_arguments)? .))]
  . name: (_) @name (function_body) @body) @function
(function_declaration
  [(user_type (identifier) @owner . (type_arguments)? .)
   (nullable_type (user_type (identifier) @owner . (type_arguments)? .))]
  . name: (_) @constant)
(function_declaration name: (_) @constant)
(secondary_constructor "constructor" @name (block) @body) @function
(property_declaration (variable_declaration . (identifier) @name) (getter (function_body) @body)) @function
(property_declaration
  [(user_type (identifier) @owner . (type_arguments)? .)
   (nullable_type (user_type (identifier) @owner . (type_arguments)? .))]
  . (variable_declaration . (identifier) @name) (getter (function_body) @body)) @function

(property_declaration (variable_declaration . (identifier) @constant))
(property_declaration (multi_variable_declaration (variable_declaration . (identifier) @constant)))
(class_parameter ["val" "var"] (identifier) @constant)
(enum_entry . (identifier) @constant)

(delegation_specifier [
  (user_type (identifier) @inherit . (type_arguments)? .)
  (constructor_invocation (user_type (identifier) @inherit . (type_arguments)? .))
  (explicit_delegation . (user_type (identifier) @inherit . (type_arguments)? .))
])

(call_expression . [(identifier) @call (navigation_expression (identifier) @call .)])
(infix_expression . (_) . (identifier) @call)
(callable_reference (identifier) @call .)
(annotation [
  (user_type (identifier) @call . (type_arguments)? .)
  (constructor_invocation (user_type (identifier) @call . (type_arguments)? .))
])

(annotation) @prefix
(line_comment) @comment
(block_comment) @comment
(import) @import

; A class whose closing brace is missing.
(ERROR (identifier) @name . [(type_parameters) (primary_constructor) (delegation_specifiers)]) @class
