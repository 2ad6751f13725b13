const words: Readonly<Record<string, string>> = {
  'already-voted': 'you have answered',
  'own-request': 'your own request',
  // Lists say so in place of the deadline.
  unreadable: '',
};

/** Why a pending approval is not for the reader of a list (`mayDecide`); empty: it is, as far as the server has said. */
export function turnWords(mayDecide: { readonly now: boolean; readonly why?: string } | undefined): string {
  return mayDecide?.now === false ? (words[mayDecide.why ?? ''] ?? 'others are asked') : '';
}
