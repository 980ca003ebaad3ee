(block . (identifier) @owner . (string_lit (template_literal) @name) . (block_start) @body) @class
(block (string_lit (template_literal) @owner) . (string_lit (template_literal) @name) . (block_start) @body) @class

(block . (identifier) @_word (body (attribute . (identifier) @constant))
  (#set! when "^locals$"))
(config_file (body (attribute . (identifier) @constant)))

(function_call . (identifier) @call)

(comment) @comment
