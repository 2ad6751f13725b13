/** How the detail of `tool-call-mismatch` says that nothing differs but the schema of the tool. The worker SDK looks for it. */
export const otherSchema = 'with another input schema of the tool';

/** The domain imports types alone, and so says exactly this. */
export type OtherSchema = typeof otherSchema;
