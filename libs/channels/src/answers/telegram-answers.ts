import type { Meaning } from './meaning.js';

/** Parts of the descriptions that the Bot API gives with status 400, in lower case, by what they are about. */
export const telegramAnswers: Readonly<Partial<Record<Meaning, readonly string[]>>> = {
  done: ['message is not modified', 'message_not_modified'],
  message: [
    ...['message is too long', 'message_too_long', "can't parse entities", "can't parse message text"],
    ...['entities too long', 'entities_too_long', 'entity_bounds_invalid', 'message text is empty', 'message_empty'],
    ...['message must be non-empty', 'text must be non-empty', 'must be encoded in utf-8'],
    ...['button_data_invalid', 'button_url_invalid', 'button_type_invalid', 'button_text_invalid', 'button_invalid'],
    ...["can't parse messageentity", 'reply markup is too long'],
    ...['reply_markup_invalid', 'reply_markup_too_long', "can't parse inline keyboard", "can't parse reply keyboard"],
    ...['message to edit not found', 'message_id_invalid', "message can't be edited", 'message_edit_time_expired'],
    ...['message identifier is not specified', 'no text in the message to edit', 'message_author_required'],
    ...['message to be replied not found', 'message to reply not found', 'reply message not found'],
  ],
  address: [
    ...[
      'chat not found',
      'chat_id is empty',
      'chat_id_invalid',
      'peer_id_invalid',
      'user not found',
      'chat_restricted',
    ],
    ...['channel_private', 'channel_invalid', 'group is deactivated', 'group chat was upgraded', 'was migrated'],
    ...['not enough rights', 'have no rights', 'need administrator rights', 'chat_admin_required', 'write_forbidden'],
    ...['chat_send_plain_forbidden', 'chat_guest_send_forbidden', 'user_banned_in_channel', 'user_is_blocked'],
    ...['topic_closed', 'topic_deleted', 'message thread not found', 'payment_required'],
  ],
};
