/** Answers are for the one who asked: no cache keeps them, no page frames them, no browser guesses their type. */
export const safeHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const;
