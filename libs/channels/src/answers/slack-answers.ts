import type { Meaning } from './meaning.js';

/**
 * Slack's documented errors of `chat.postMessage` and `chat.update`, by what they are about. An error that is not listed
 * concerns the channel.
 */
export const slackAnswers: Readonly<Partial<Record<Meaning, readonly string[]>>> = {
  message: [
    ...['invalid_blocks', 'invalid_blocks_format', 'block_mismatch', 'msg_too_long', 'msg_blocks_too_long', 'no_text'],
    ...['too_many_attachments', 'invalid_attachments', 'attachment_payload_limit_exceeded', 'markdown_text_conflict'],
    ...['invalid_metadata_format', 'invalid_metadata_schema', 'metadata_too_large', 'too_many_contact_cards'],
    ...['message_not_found', 'cant_update_message', 'edit_window_closed', 'streaming_state_conflict'],
    ...['thread_not_found', 'cannot_reply_to_message', 'cant_broadcast_message', 'no_dual_broadcast_content_update'],
    ...['slack_connect_file_link_sharing_blocked', 'slack_connect_canvas_sharing_blocked'],
  ],
  address: [
    ...['channel_not_found', 'not_in_channel', 'user_not_in_channel', 'is_archived', 'is_inactive', 'team_not_found'],
    ...['restricted_action', 'restricted_action_read_only_channel', 'restricted_action_thread_only_channel'],
    ...['restricted_action_non_threadable_channel', 'messages_tab_disabled', 'method_not_supported_for_channel_type'],
  ],
  channel: [
    ...['not_authed', 'invalid_auth', 'account_inactive', 'token_revoked', 'token_expired', 'missing_scope'],
    ...['no_permission', 'not_allowed_token_type', 'access_denied', 'accesslimited', 'ekm_access_denied'],
    ...['enterprise_is_restricted', 'team_access_not_granted', 'two_factor_setup_required', 'as_user_not_supported'],
    ...['deprecated_endpoint', 'method_deprecated', 'invalid_arguments', 'invalid_arg_name', 'invalid_array_arg'],
    ...['invalid_charset', 'invalid_form_data', 'invalid_post_type', 'missing_post_type'],
  ],
  retry: [
    ...['ratelimited', 'rate_limited', 'message_limit_exceeded', 'internal_error', 'fatal_error', 'request_timeout'],
    ...[
      'service_unavailable',
      'update_failed',
      'external_channel_migrating',
      'team_added_to_org',
      'org_login_required',
    ],
  ],
};
