/** The answers of the supplied routes, the ones around the operations: who is there, and who did what. */
import type { IdentityEventType } from '@freehold/auth';
import {
  attachmentRecord,
  denialRecord,
  entityRef,
  eventId,
  pageOf,
  pageQuery,
  principalId,
  programRecord,
  roleKey,
  seatReason,
  shredReceipt,
  timestamp,
} from '@freehold/contracts';
import { z } from 'zod';

/** `GET /api/me`: who the caller is to this business. Never a 401, so that the page can say it calmly. */
export const meResponse = z.object({
  status: z.enum(['signed_out', 'stranger', 'member']),
  /** The name of the business. */
  business: z.string(),
  /** Null exactly when signed out. */
  subject: z
    .object({
      name: z.string().nullable(),
      email: z.string().nullable(),
      emailVerified: z.boolean().nullable(),
    })
    .nullable(),
  /** Null unless a member. */
  principal: principalId.nullable(),
  roles: z.array(z.object({ key: roleKey, name: z.string() })),
  /** The permissions for the whole scope; those for one record are in the record. */
  permissions: z.array(z.string()),
  /** Those for one record, where `?records` asks for them. */
  recordPermissions: z.array(z.string()).optional(),
  /** The program through which the caller asks, where it is one: the permissions are what it may do. */
  program: programRecord.extend({ access: z.enum(['all', 'read', 'some']) }).optional(),
  /** For strangers: whether the business has an owner, and if not, why not. */
  seat: z.object({ state: z.enum(['pending', 'claimed']), reason: seatReason.nullable() }).nullable(),
  /** The way people sign in here: at an issuer, with an account of the tenant's own directory, or by a token alone. */
  signIn: z
    .object({
      mode: z.enum(['hosted', 'directory', 'tokens']),
      /** Where one's own password, passkeys and second factor are changed, if that is here. A path. */
      securityUrl: z.string().optional(),
    })
    .optional(),
});
export type Me = z.infer<typeof meResponse>;

export const memberRecord = z.object({
  principal: principalId,
  name: z.string().nullable(),
  /** Null for those who do not manage the team. */
  email: z.string().nullable(),
  roles: z.array(roleKey),
  /** Holds the owner seat, and cannot be removed. */
  owner: z.boolean(),
  you: z.boolean(),
  since: timestamp,
});
export type MemberRecord = z.infer<typeof memberRecord>;
export const membersResponse = pageOf(memberRecord);

export const changeRoleBody = z.strictObject({ role: roleKey });
export const claimBody = z.strictObject({ token: z.string().min(1).max(128) });
export const emptyBody = z.strictObject({});

/** A person in a log: the present name, or the last one of a former member; null where none is known. */
export const actorRecord = z.object({ principal: z.string(), name: z.string().nullable() });

const happening = z.object({
  id: eventId,
  type: z.string(),
  entity: entityRef.nullable(),
  payload: z.unknown(),
  at: timestamp,
});

/**
 * `GET <record>/history`: the events, their actors and effects.
 * Data about an erased person is `{ $shredded }`.
 */
export const historyEntry = happening.extend({
  actor: actorRecord,
  /** The program through which the actor did it. */
  program: programRecord.optional(),
  effects: z.array(happening),
  /** Whether effects were left out, on records that the reader may not see. */
  withheld: z.boolean(),
});
export type HistoryEntry = z.infer<typeof historyEntry>;
/** `withheld`: the record's own events were left out. */
export const historyResponse = pageOf(historyEntry).extend({ withheld: z.boolean() });

/** One file of a record. */
export const attachmentEntry = attachmentRecord.omit({ entity: true, digest: true, by: true }).extend({
  by: actorRecord,
  /** Whether it can be shown in the page; otherwise it is saved as a file. */
  image: z.boolean(),
});
export type AttachmentEntry = z.infer<typeof attachmentEntry>;

/** `GET <record>/attachments`: all of them, in the order in which they came. */
export const attachmentsResponse = z.object({
  items: z.array(attachmentEntry),
  /** The most bytes of the next file. */
  bytesMax: z.int(),
});
export type AttachmentList = z.infer<typeof attachmentsResponse>;

/** `POST <record>/erase`: proof that it was done. */
export const erasedResponse = shredReceipt;

/** `GET /api/denials`: attempts that were refused, newest first. */
export const denialEntry = denialRecord.omit({ actor: true }).extend({
  actor: actorRecord,
  /** The description of the permission. */
  wanted: z.string(),
});
export type DenialEntry = z.infer<typeof denialEntry>;
export const denialsResponse = pageOf(denialEntry);

/** The types of identity events, by kind. A new type belongs to one of them. */
const IDENTITY_EVENT_KINDS_BY_TYPE = {
  seat_opened: 'team',
  seat_claimed: 'team',
  claim_minted: 'team',
  claim_refused: 'team',
  owner_stranded: 'team',
  owner_recovery_made: 'team',
  owner_replacement_made: 'team',
  owner_recovery_ended: 'team',
  owner_replaced: 'team',
  owner_transferred: 'team',
  invite_created: 'team',
  invite_accepted: 'team',
  invite_refused: 'team',
  invite_revoked: 'team',
  member_removed: 'team',
  members_moved_in: 'team',
  signed_in: 'sign_ins',
  sign_in_refused: 'sign_ins',
  session_ended: 'sign_ins',
  all_sessions_ended: 'sign_ins',
  account_locked: 'sign_ins',
  account_created: 'accounts',
  account_renamed: 'accounts',
  profile_changed: 'accounts',
  password_changed: 'accounts',
  password_reset: 'accounts',
  passkey_added: 'accounts',
  passkey_removed: 'accounts',
  totp_enabled: 'accounts',
  totp_disabled: 'accounts',
  recovery_codes_made: 'accounts',
  recovery_code_used: 'accounts',
  email_changed: 'accounts',
  email_reverted: 'accounts',
  account_deleted: 'accounts',
  program_let_in: 'programs',
  program_ended: 'programs',
  program_token_made: 'programs',
  program_policy_changed: 'programs',
  config_changed: 'settings',
  session_secret_minted: 'settings',
  session_secret_rotated: 'settings',
} as const satisfies Record<IdentityEventType, string>;

const identityEventKind = z.enum(['sign_ins', 'team', 'accounts', 'programs', 'settings']);
export type IdentityEventKind = z.infer<typeof identityEventKind>;

/** The kind of an event's type. */
export function kindOfIdentityEvent(type: IdentityEventType): IdentityEventKind {
  return IDENTITY_EVENT_KINDS_BY_TYPE[type];
}

/** The query of `GET /api/identity-events`. */
export const identityEventsQuery = z.strictObject({ ...pageQuery, kind: identityEventKind.optional() });

/** `GET /api/identity-events`: sign-ins, invites, and everything else that opens a door or closes it, newest first. */
export const identityEventEntry = z.object({
  id: eventId,
  type: z.enum(Object.keys(IDENTITY_EVENT_KINDS_BY_TYPE) as IdentityEventType[]),
  at: timestamp,
  /** The member that it is about; null for a person who is not, and was not, a member here. */
  person: actorRecord.nullable(),
  /** The acting member, when it is another one: null for the person themself and for the platform. */
  actor: actorRecord.nullable(),
  /** Other facts that may be shown: `role`, `reason`, `how` and so on. */
  detail: z.record(z.string(), z.union([z.string(), z.array(z.string()).readonly()])),
});
export type IdentityEventEntry = z.infer<typeof identityEventEntry>;
export const identityEventsResponse = pageOf(identityEventEntry);

/** One of the caller's own sessions. Its id is of use to the caller alone. */
export const sessionRecord = z.object({
  id: z.string(),
  /** Such as "Firefox on Linux"; null when nothing is known. */
  client: z.string().nullable(),
  startedAt: timestamp,
  expiresAt: timestamp,
  /** The session of this very request. */
  current: z.boolean(),
  /** False for a session at another application of the same tenant. */
  here: z.boolean(),
});
export type SessionRecord = z.infer<typeof sessionRecord>;

/** `GET /api/sessions`: all of them at once, newest first. */
export const sessionsResponse = z.object({ items: z.array(sessionRecord) });

/** `POST /api/sessions/end-others`: how many there were. */
export const endedOthersResponse = z.object({ ended: z.int() });

/** One declared setting of an instance. */
export const settingRecord = z.object({
  key: z.string(),
  summary: z.string(),
  /** The value of a secret is never answered. */
  secret: z.boolean(),
  /** The strongest place that has a value: delivered to this instance, set for the platform, or declared. */
  from: z.enum(['delivered', 'platform', 'default', 'none']),
  /** Null for a secret, and where no place has a value. */
  value: z.string().nullable(),
});
export type SettingRecord = z.infer<typeof settingRecord>;

/** `GET /api/settings`: the settings of the manifest in its order, and how long history is kept. */
export const settingsResponse = z.object({
  items: z.array(settingRecord),
  retention: z.object({
    /** Whole days; null for good. */
    historyDays: z.int().nullable(),
    denialsDays: z.int().nullable(),
    /** Delivered to this instance, or declared by the application; none: everything is kept for good. */
    from: z.enum(['delivered', 'default', 'none']),
  }),
});

/** One long work of the caller. */
export const longWorkEntry = z
  .object({
    id: z.string(),
    /** The operation that started it. */
    kind: z.string(),
    summary: z.string(),
    state: z.enum(['running', 'waiting', 'stopping', 'halted', 'done', 'failed', 'cancelled']),
    /** The number of steps that were committed. */
    step: z.int(),
    /** Progress, in whatever the work counts. */
    done: z.int(),
    total: z.int().nullable(),
    isCancellable: z.boolean(),
    startedBy: z.object({ principal: z.string(), name: z.string().nullable() }),
    error: z.object({ code: z.string(), detail: z.string() }).nullable(),
    startedAt: timestamp,
    changedAt: timestamp,
    endedAt: timestamp.nullable(),
  })
  .meta({ id: 'LongWork' });
export type LongWorkEntry = z.infer<typeof longWorkEntry>;
export const longWorksResponse = pageOf(longWorkEntry);
export type LongWorkList = z.infer<typeof longWorksResponse>;

/** `GET /api/model-usage`: the language model of an instance and its tokens. */
export const modelUsageResponse = z.object({
  /** Such as `openai-compatible:llama3.2:3b`; null where none can be asked. */
  model: z.string().nullable(),
  /** The reason why there is none, in a sentence that says who sets it; null where there is one. */
  problem: z.string().nullable(),
  /** Whether every tenant may ask it, or those with the entitlement `assistant`; null where there is none. */
  access: z.enum(['all', 'entitled']).nullable(),
  /** `2026-03`, of UTC. */
  month: z.string(),
  /** The tokens of the month's calls; a call in progress counts with its maximum. */
  tokens: z.int(),
  /** The most tokens of the month; null for no limit, and where there is no model. */
  limit: z.int().nullable(),
  /** The refusal that a call would meet now; null where it would be made. */
  refused: z.object({ reason: z.string(), detail: z.string() }).nullable(),
});
