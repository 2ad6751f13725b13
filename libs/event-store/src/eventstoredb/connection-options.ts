interface Form {
  readonly test: RegExp;
  readonly words: string;
}

const yesOrNo: Form = { test: /^(true|false)$/, words: 'true or false' };
const integer: Form = { test: /^-?\d+$/, words: 'a whole number' };
const text: Form = { test: /./, words: 'a text' };

/** The options that both vendors' clients know. */
const forms: Readonly<Record<string, Form>> = {
  tls: yesOrNo,
  tlsVerifyCert: yesOrNo,
  tlsCAFile: text,
  userCertFile: text,
  userKeyFile: text,
  connectionName: text,
  nodePreference: { test: /^(leader|follower|random|read_?only_?replica)$/i, words: 'leader, follower or random' },
  maxDiscoverAttempts: integer,
  discoveryInterval: integer,
  gossipTimeout: integer,
  defaultDeadline: integer,
  keepAliveInterval: integer,
  keepAliveTimeout: integer,
  throwOnAppendFailure: yesOrNo,
};
const formOf = new Map(Object.entries(forms).map(([name, form]) => [name.toLowerCase(), { name, form }]));

/**
 * Returns the problem of a connection string's options; undefined: none. The vendors' clients print the whole
 * connection string, with the password, when they meet an unknown option.
 */
export function optionProblem(options: URLSearchParams): string | undefined {
  for (const [given, value] of options) {
    const known = formOf.get(given.toLowerCase());
    if (known === undefined) {
      // Attack: the part after a `?` in a password would be printed as the name of an option.
      const name = /^[a-z_-]+$/i.test(given) && !options.toString().includes('%40') ? ` ${given}` : '';
      return `has an unknown option${name}; the options are ${Object.keys(forms).join(', ')}`;
    }
    if (!known.form.test.test(value)) return `has a wrong ${known.name}: it must be ${known.form.words}`;
  }
  return undefined;
}
