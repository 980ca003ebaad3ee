((jsx_opening_element name: (identifier) @call @_word) (#set! when "^[A-Z]"))
((jsx_self_closing_element name: (identifier) @call @_word) (#set! when "^[A-Z]"))
(jsx_opening_element name: (member_expression property: (_) @call))
(jsx_self_closing_element name: (member_expression property: (_) @call))
