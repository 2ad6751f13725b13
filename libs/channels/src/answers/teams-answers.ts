import type { Meaning } from './meaning.js';

/**
 * Codes that the Bot Connector documents for messages in Teams, by what they are about. A code that is not listed concerns the
 * channel, or is retried where its status says so.
 */
export const teamsAnswers: Readonly<Partial<Record<Meaning, readonly string[]>>> = {
  message: ['MessageSizeTooBig', 'ActivityNotFoundInConversation', 'MessageNotFound'],
  address: [
    ...['ConversationNotFound', 'BotNotInConversationRoster', 'ConversationBlockedByUser', 'MessageWritesBlocked'],
    ...['NotEnoughPermissions', 'InsufficientPermissions', 'ConversationDeleted', 'UserNotFound'],
  ],
};
