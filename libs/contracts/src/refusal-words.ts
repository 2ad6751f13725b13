/** How the detail of `tool-call-mismatch` says that nothing differs but the schema of the tool. The worker SDK looks for it. */
export const otherSchema = 'with another input schema of the tool';

/** The domain imports types alone, and so says exactly this. */
export type OtherSchema = typeof otherSchema;

/** How a request differs from the recorded call when only the definition of its tool does. */
export const otherDefinition = 'with another definition of the tool';

/** The same, for code that must not import this package at run time. */
export type OtherDefinition = typeof otherDefinition;
