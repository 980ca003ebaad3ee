(field_definition property: (_) @constant)
(field_definition property: (_) @name value: [
  (arrow_function body: (_) @body)
  (function_expression body: (_) @body)
]) @function

(class_heritage [(identifier) @inherit (member_expression property: (_) @inherit)])
(class_heritage (call_expression arguments: (arguments [
  (identifier) @inherit
  (member_expression property: (_) @inherit)
])))

; A class whose closing brace is missing.
(ERROR "class" . (identifier) @name) @class
