/** Where Countersign is, and who the agent is there. */
export const agent = {
  url: process.env['COUNTERSIGN_URL'] ?? 'http://127.0.0.1:7400',
  // `next build` has no tokens, and needs none.
  token: process.env['COUNTERSIGN_TOKEN'] || 'unset',
  resolverToken: process.env['COUNTERSIGN_RESOLVER_TOKEN'] || 'unset',
  agentId: 'next-chat-agent',
};
