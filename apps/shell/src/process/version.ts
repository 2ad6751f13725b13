/** The version of Countersign, as in its package. */
export const version = '0.1.0';
