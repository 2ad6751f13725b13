/** Where Countersign is, and who the agent is there. */
export const agent = {
  url: process.env['COUNTERSIGN_URL'] ?? 'http://127.0.0.1:7400',
  token: process.env['COUNTERSIGN_TOKEN'] ?? '',
  resolverToken: process.env['COUNTERSIGN_RESOLVER_TOKEN'] ?? '',
  agentId: 'next-chat-agent',
};
