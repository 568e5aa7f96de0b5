import type { ErrorCode } from 'yaml';

/** WORDS says in the words of a person what the library found wrong with a text of YAML. */
const WORDS: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: 'an alias such as *a has an anchor or a tag of its own',
  BAD_ALIAS: 'an anchor or alias has no name, or one that ends in a colon',
  BAD_COLLECTION_TYPE: 'a tag stands before a list or a map that it is not for',
  BAD_DIRECTIVE: 'a line that begins with % is no directive of YAML; put the text in quotation marks',
  BAD_DQ_ESCAPE: 'a backslash in double quotation marks begins no character; write it twice',
  BAD_INDENT: 'it is indented otherwise than what it belongs to, or a bracket before it is not closed',
  BAD_PROP_ORDER: 'an anchor or a tag stands before the mark that it must follow',
  BAD_SCALAR_START: 'a text begins with a mark of YAML; put it in quotation marks',
  BLOCK_AS_IMPLICIT_KEY:
    'two keys or a list stand on one line; put the second on a line of its own, or in quotation marks',
  BLOCK_IN_FLOW: 'an indented list or map stands within brackets',
  DUPLICATE_KEY: 'a key is given twice in one map',
  IMPOSSIBLE: 'it cannot be read',
  KEY_OVER_1024_CHARS: 'a key has more than 1024 characters',
  MISSING_CHAR: 'a colon, comma, bracket, quotation mark or space is missing',
  MULTILINE_IMPLICIT_KEY: 'a key goes over several lines, or its colon is missing',
  MULTIPLE_ANCHORS: 'a value has two anchors',
  MULTIPLE_DOCS: 'a second document begins; one file holds one, so take out the --- or split the file',
  MULTIPLE_TAGS: 'a value has two tags',
  NON_STRING_KEY: 'a key is no text',
  RESOURCE_EXHAUSTION: 'it is nested too deep',
  TAB_AS_INDENT: 'a tab indents it; use spaces',
  TAG_RESOLVE_FAILED: 'a tag such as !name is not known; leave it out, or put the text in quotation marks',
  UNEXPECTED_TOKEN:
    'something stands where nothing can; perhaps a bracket, comma or quotation mark is missing before it',
};

/** yamlWords says what an error of the library means. */
export function yamlWords(code: ErrorCode): string {
  return WORDS[code];
}
