const plain = /^[ -~]*$/;

/**
 * A principal in the form in which the rules compare it: the full case folding of Unicode in the normal form NFKC, without blanks at
 * either end. The domain imports no values, so this is `comparedIdentity` of the contracts once more; a test compares them.
 *
 * Attack: `Straße` and `STRASSE`, or `ΟΔΟΣ` and `οδοσ`, are one person with two votes.
 */
export function comparedIdentity(identity: string): string {
  if (plain.test(identity)) return identity.trim().toLowerCase();
  const folded = Array.from(identity.normalize('NFKC'), foldedCharacter).join('');
  return folded.normalize('NFKC').trim();
}

function foldedCharacter(character: string): string {
  return character === 'ı' ? character : character.toLowerCase().toUpperCase().toLowerCase();
}
