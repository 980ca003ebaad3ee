(call target: (identifier) @_word (arguments . (alias) @name) (do_block) @body
  (#set! when "^def(module|protocol|impl)$")) @class

(call target: (identifier) @_word (arguments . [
  (identifier) @name
  (call target: (identifier) @name)
  (binary_operator left: [(identifier) @name (call target: (identifier) @name)])
])
  (#set! when "^def(p|macro|macrop|guard|guardp|delegate)?$")) @function
(call target: (identifier) @_word (arguments . [
  (identifier) @name
  (call target: (identifier) @name)
  (binary_operator left: [(identifier) @name (call target: (identifier) @name)])
]) (do_block) @body
  (#set! when "^def(p|macro|macrop)?$")) @function

(call target: (identifier) @call @_word
  (#set! when "^(?!(?:def\\w*|alias|import|require|use|doc|moduledoc|spec|type|typep|impl)$)"))
(call target: (dot right: (identifier) @call))

(unary_operator operand: (call target: (identifier) @_word)
  (#set! when "^(doc|spec|impl|deprecated|since)$")) @prefix
(comment) @comment
(call target: (identifier) @_word (arguments . (alias))
  (#set! when "^(alias|import|require|use)$")) @import
