const secretWord = /^(password|passwd|passphrase|pwd|secret|token|authorization|credential|credentials|cookie)$/;
const secretPair = /^(api|private|access|signing|encryption|secret|auth)_?(key|token)s?$/;

const seenNames = new Map<string, boolean>();
const seenNamesMax = 4096;

/** Whether a member's name looks like that of a secret: its last word (`dbPassword`), or two (`x-api-key`). */
export function looksSecret(name: string): boolean {
  const seen = seenNames.get(name);
  if (seen !== undefined) return seen;
  const secret = judgeName(name);
  // The same few names come again and again; a flood of new ones must not fill the memory.
  if (seenNames.size >= seenNamesMax) seenNames.clear();
  seenNames.set(name, secret);
  return secret;
}

function judgeName(name: string): boolean {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
  const last = words.at(-1) ?? '';
  return secretWord.test(last) || secretPair.test(last) || secretPair.test(words.slice(-2).join('_'));
}
