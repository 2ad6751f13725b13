const plain = /^[ -~]*$/;

/**
 * A name of a person in the form in which it is compared: the full case folding of Unicode in the normal form NFKC, without blanks
 * at either end. All that compares names of people compares this form: the domain has the function once more, since it imports no values,
 * and compares otherwise when it replays the log. The audit has a form
 * of its own.
 *
 * Attack: `Straße` and `STRASSE`, or `ΟΔΟΣ` and `οδοσ`, are one person with two votes.
 */
export function comparedIdentity(identity: string): string {
  if (plain.test(identity)) return identity.trim().toLowerCase();
  const folded = Array.from(identity.normalize('NFKC'), foldedCharacter).join('');
  return folded.normalize('NFKC').trim();
}

/**
 * By character, because the lower case of Σ is another one at the end of a word. In the folding `ı` is itself, although its capital
 * is that of `i`.
 */
function foldedCharacter(character: string): string {
  return character === 'ı' ? character : character.toLowerCase().toUpperCase().toLowerCase();
}
