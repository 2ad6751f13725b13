/** Every variable that some process or command of ours reads. */
const settingNames: readonly string[] = [
  ...['HOST', 'PORT', 'DATA', 'LOG_LEVEL', 'PUBLIC_URL', 'REQUESTS_PER_SECOND', 'ACCEPT_LOG_END'],
  'CORS_ORIGINS',
  'FRAME_ANCESTORS',
  ...[
    'KEYS_FOLDER',
    'ROOT_KEY_FILE',
    'LOG_KEY_FILE',
    'LOG_KEY_PREVIOUS',
    'LOG_ORIGIN',
    'RECEIPT_KEY_FILE',
    'RECEIPT_NAMES',
    'RECORD_ADDRESSES',
    'LOG_SIGNER',
    'LOG_PUBLIC',
    'LOG_SINKS',
    'WITNESSES',
    'WITNESS_PRIVATE',
    'TSA_URL',
    'TSA_CA',
    'TSA_PRIVATE',
    'TSA_INTERVAL_MS',
    'NOTARY_URL',
    'NOTARY_TOKEN_FILE',
    'NOTARY_CA_FILE',
    'NOTARY_PORT',
    'NOTARY_TLS_CERT_FILE',
    'NOTARY_TLS_KEY_FILE',
    'ACCEPT_LOST_KEYS',
    'ACCEPT_UNREADABLE_POLICY',
    'KEEPER_URL',
    'KEEPER_TOKEN_FILE',
    'KEEPER_CA_FILE',
  ],
  ...['KEEPER_PORT', 'KEEPER_TOKENS_FILE', 'KEEPER_TLS_CERT_FILE', 'KEEPER_TLS_KEY_FILE', 'KEEPER_LOAN_MS'],
  ...[
    'POLICY',
    'POLICY_SHADOW',
    'TOOLS',
    'TOKENS_FILE',
    'CHANNELS',
    'RESOLVER_LEASE_MS',
    'URL',
    'TOKEN',
    'MCP_AUTHORIZATION',
    'RESOLVER_TOKEN',
  ],
  ...['EVENTSTORE_URL', 'EVENTSTORE_ADMIN_URL'],
  ...['KAFKA_BROKERS', 'KAFKA_SSL', 'KAFKA_SASL_MECHANISM', 'KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD_FILE'],
  ...['KAFKA_SESSION_TIMEOUT_MS', 'TOPIC_PREFIX', 'TOPIC_PARTITIONS', 'TOPIC_REPLICATION'],
  ...['REQUESTS_KEYS', 'REQUESTS_UNSIGNED', 'REQUESTS_TENANT', 'REQUESTS_PRINCIPAL'],
  ...['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET_FILE', 'OIDC_AUDIENCE', 'OIDC_ROLES_CLAIM'],
  ...['OIDC_GROUPS_CLAIM', 'OIDC_TENANT'],
  // Only the build, the launcher, the tests and the fuzzer read these.
  ...['BUILT_COMMIT', 'LAUNCHED', 'CRASH_AT', 'FUZZ_SECONDS'],
].map((name) => `COUNTERSIGN_${name}`);

/** The largest edit distance at which a name counts as a misspelling. */
const distanceMax = 3;

/** Returns a line for each variable that looks like one of ours and is unknown. The line never contains its value. */
export function unknownSettings(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith('COUNTERSIGN_') && !name.startsWith('COUNTERSIGN_TEST_'))
    .filter((name) => !settingNames.includes(name))
    .toSorted()
    .map((name) => {
      const meant = nearest(name);
      return `${name} is no setting of Countersign and has no effect${meant === undefined ? '' : `; did you mean ${meant}?`}`;
    });
}

/** Returns a line for each variable of Kafka, which the process that is all in one does not use. */
export function unusedByStandalone(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith('COUNTERSIGN_KAFKA_') && settingNames.includes(name) && env[name] !== '')
    .toSorted()
    .map((name) => `${name} has no effect: standalone uses no Kafka. Unset it, or start the roles of a cluster`);
}

function nearest(name: string): string | undefined {
  const [best] = settingNames
    .map((known) => ({ known, distance: distance(name, known) }))
    .toSorted((one, other) => one.distance - other.distance);
  return best !== undefined && best.distance <= distanceMax ? best.known : undefined;
}

/** The Levenshtein distance of two names. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, n) => n);
  for (const [i, letter] of Array.from(one).entries()) {
    const next = [i + 1];
    for (const [j, wanted] of Array.from(other).entries()) {
      next.push(Math.min((row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1, (row[j] ?? 0) + (letter === wanted ? 0 : 1)));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
