(class_declaration name: (_) @name body: (_) @body) @class
(interface_declaration name: (_) @name body: (_) @body) @class
(trait_declaration name: (_) @name body: (_) @body) @class
(enum_declaration name: (_) @name body: (_) @body) @class
(namespace_definition name: (_) @name body: (_) @body) @module
(namespace_definition name: (_) @name !body) @scope

(function_definition name: (_) @name body: (_) @body) @function
(method_declaration name: (_) @name body: (_) @body) @function
(method_declaration name: (_) @constant !body)

(const_element . (name) @constant)
(property_element name: (variable_name (name) @constant) default_value: (_))
(enum_case name: (_) @constant)
(function_call_expression function: (name) @_word
  arguments: (arguments . (argument (string (string_content) @constant)))
  (#set! when "^define$"))

(base_clause [(name) @inherit (qualified_name (name) @inherit .)])
(class_interface_clause [(name) @inherit (qualified_name (name) @inherit .)])
(use_declaration [(name) @inherit (qualified_name (name) @inherit .)])

(function_call_expression function: [(name) @call (qualified_name (name) @call .)])
(member_call_expression name: (name) @call)
(nullsafe_member_call_expression name: (name) @call)
(scoped_call_expression name: (name) @call)
(object_creation_expression [(name) @call (qualified_name (name) @call .)])
(attribute [(name) @call (qualified_name (name) @call .)])

(attribute_list) @prefix
(comment) @comment
(namespace_use_declaration) @import
(require_expression) @import
(require_once_expression) @import
(include_expression) @import
(include_once_expression) @import

; A class whose closing brace is missing.
(ERROR ["class" "interface" "trait" "enum"] . (name) @name) @class
