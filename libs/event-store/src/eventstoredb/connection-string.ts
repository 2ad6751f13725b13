/** A connection string as it may be written to a log: without user, password, and what else its options say. */
export function withoutSecrets(url: string): string {
  const [, scheme = '', rest = ''] = /^([a-z+]+:\/\/)?([^?]*)/i.exec(url) ?? [];
  // Up to the last @: an unescaped one in a password is a mistake that people make.
  return `${scheme}${rest.slice(rest.lastIndexOf('@') + 1)}`;
}
