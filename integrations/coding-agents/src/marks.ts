/** Files that one hook process leaves for the next on the same machine. They may be lost: docs/coding-agents.md says what then happens. */
export interface Marks {
  readonly get: (key: string) => string | undefined;
  readonly set: (key: string, text: string) => void;
}
