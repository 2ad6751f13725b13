/** Files that one hook process leaves for the next on the same machine. Losing them is safe: people are asked once more. */
export interface Marks {
  readonly get: (key: string) => string | undefined;
  readonly set: (key: string, text: string) => void;
}
