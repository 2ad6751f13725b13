/** The scheme whose client the specs of the adapter use. A spec for the other client replaces this module. */
export const scheme: 'esdb' | 'kurrentdb' = 'esdb';
