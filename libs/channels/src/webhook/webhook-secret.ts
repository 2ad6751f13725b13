const prefix = 'whsec_';
const bytesMin = 24;
const bytesMax = 64;

/** The secrets of an endpoint: several while keys are changed, the newest first, separated by white space. */
export function webhookSecretsOf(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}

/**
 * Returns what is wrong with the secret of an endpoint, without the secret; undefined when every receiver of Standard
 * Webhooks reads the same key out of it. The libraries differ about any other form: some decode it, some take its letters.
 */
export function webhookSecretProblem(text: string): string | undefined {
  const secrets = webhookSecretsOf(text);
  for (const [index, secret] of secrets.entries()) {
    const problem = problemOf(secret);
    if (problem === undefined) continue;
    const which = secrets.length === 1 ? 'it' : `its part ${String(index + 1)} of ${String(secrets.length)}`;
    return (
      `must be ${prefix} and then base64 of ${String(bytesMin)} to ${String(bytesMax)} bytes, as from ` +
      `echo "${prefix}$(openssl rand -base64 32)", and the same text at the receiver: ${which} ${problem}`
    );
  }
  return undefined;
}

function problemOf(secret: string): string | undefined {
  if (secret === '') return 'is empty';
  if (!secret.startsWith(prefix)) return `does not begin with ${prefix}`;
  const text = secret.slice(prefix.length);
  const bytes = Buffer.from(text, 'base64');
  // Node decodes more than the others do: base64url, and text without padding or with stray characters.
  if (bytes.toString('base64') !== text) return 'is not base64 with the letters +, / and, at its end, =';
  return bytes.length < bytesMin || bytes.length > bytesMax ? `has ${String(bytes.length)} bytes` : undefined;
}
