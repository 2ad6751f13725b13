/**
 * The scheme whose client the specs of the adapter use: that of EVENTSTOREDB_URL where a real server is tested. A spec for
 * the other client replaces this module.
 */
export const scheme: 'esdb' | 'kurrentdb' = /^kurrentdb/i.test(process.env['EVENTSTOREDB_URL'] ?? '')
  ? 'kurrentdb'
  : 'esdb';
