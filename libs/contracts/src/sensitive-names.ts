import { jcsDigest } from './digest.js';

/** Words that name a secret as the last word of a name, in singular or plural: `dbPassword`, `tokens`. */
const secretWords = new Set([
  ...['password', 'passwd', 'passphrase', 'passcode', 'pwd', 'passwort', 'secret', 'token', 'credential', 'cookie'],
  ...['authorization', 'bearer', 'pin', 'pincode', 'otp', 'totp', 'jwt', 'dsn', 'cvv', 'cvc', 'mnemonic', 'creds'],
]);

/** Two words that together name a secret, as one word, with a separator, or in camelCase. */
const secretPairs = [
  ...['apikey', 'privatekey', 'accesskey', 'accountkey', 'signingkey', 'encryptionkey', 'secretkey', 'authkey'],
  ...['masterkey', 'sshkey', 'connectionstring', 'connstring', 'sessionid', 'seedphrase', 'recoverycode', 'backupcode'],
];

/** Also found at the end of a longer word, since no ordinary English word ends with one: `dbpassword`, `mysecret`. */
const secretEndings = [
  ...['password', 'passwd', 'passphrase', 'secret', 'token', 'credential', 'authorization', 'cookie', 'sessid'],
  ...secretPairs,
];

/** Words after the secret's own word that say in which form it is: `privateKeyPem`, `passwordConfirmation`. */
const forms = new Set([
  ...[
    'value',
    'text',
    'string',
    'raw',
    'plain',
    'plaintext',
    'hash',
    'header',
    'data',
    'bytes',
    'hex',
    'base64',
    'b64',
  ],
  ...['pem', 'der', 'jwk', 'code', 'old', 'new', 'current', 'confirm', 'confirmation', 'repeat', 'again', 'env', 'v'],
]);

/** Words that make `tokens` a quantity: `maxTokens`, `prompt_tokens`. */
const quantities = new Set([
  ...[
    'max',
    'min',
    'maximum',
    'minimum',
    'num',
    'number',
    'n',
    'count',
    'total',
    'limit',
    'budget',
    'used',
    'remaining',
  ],
  ...['prompt', 'completion', 'input', 'output', 'cached', 'reasoning', 'thinking', 'context', 'new', 'stop'],
]);

/** Counts the changes of what is masked that no list of words shows. */
const masksRevision = 1;

/**
 * Returns the digest of the rules by which views mask values: another one when a word is added or removed. Who changes what is
 * masked in another way raises `masksRevision`. Bundles state it, so that a later version does not judge them by its own rules.
 */
export function maskRulesDigest(): string {
  return jcsDigest({
    revision: masksRevision,
    words: [...secretWords],
    pairs: secretPairs,
    endings: secretEndings,
    forms: [...forms],
    quantities: [...quantities],
  });
}

/** A longer name is judged by its end. */
const judgedCharsMax = 128;
const seenNames = new Map<string, boolean>();
const seenNamesMax = 4096;
const seenCharsMax = 64;

/**
 * Returns whether a member's name looks like that of a secret, by its last words: `dbPassword`, `x-api-key`,
 * `passwords`, `mysecret`, `privateKeyPem`. docs/tools.md has the table of cases.
 */
export function looksSecret(name: string): boolean {
  // The same few names repeat; a flood of new or long ones must not fill the memory.
  if (name.length > seenCharsMax) return judgeName(name.slice(-judgedCharsMax));
  const seen = seenNames.get(name);
  if (seen !== undefined) return seen;
  const secret = judgeName(name);
  if (seenNames.size >= seenNamesMax) seenNames.clear();
  seenNames.set(name, secret);
  return secret;
}

function judgeName(name: string): boolean {
  const words = wordsOf(name);
  if (endsSecret(words)) return true;
  while (words.length > 1 && isForm(words.at(-1) ?? '')) {
    words.pop();
    if (endsSecret(words)) return true;
  }
  return false;
}

function isForm(word: string): boolean {
  return forms.has(word) || forms.has(singular(word));
}

function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .map((word) => (forms.has(word) ? word : word.replace(/\d+$/, '')))
    .filter((word) => word !== '');
}

function endsSecret(words: readonly string[]): boolean {
  const [before = '', last = ''] = [words.at(-2), words.at(-1)];
  if (last === 'tokens' && quantities.has(before)) return false;
  if (last.endsWith('tokens') && quantities.has(last.slice(0, -'tokens'.length))) return false;
  return [last, singular(last)].some((word) => isSecretWord(word) || secretPairs.includes(before + word));
}

function isSecretWord(word: string): boolean {
  return secretWords.has(word) || secretEndings.some((ending) => word.endsWith(ending));
}

function singular(word: string): string {
  return word.endsWith('s') ? word.slice(0, -1) : word;
}
