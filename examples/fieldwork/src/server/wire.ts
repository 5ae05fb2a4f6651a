/** The answers of fieldwork's own routes, the ones around the operations: who is there, and who did what. */
import {
  denialRecord,
  entityRef,
  eventId,
  pageOf,
  principalId,
  roleKey,
  seatReason,
  timestamp,
} from '@freehold/contracts';
import { z } from 'zod';

/** `GET /api/me`: who the caller is to this business. Never a 401, so that the page can say it calmly. */
export const meResponse = z.object({
  status: z.enum(['signed_out', 'stranger', 'member']),
  /** What the business calls itself. */
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
  /** What holds for the whole scope; what one order allows is said by the order. */
  permissions: z.array(z.string()),
  /** For strangers: whether the business has an owner, and if not, why not. */
  seat: z.object({ state: z.enum(['pending', 'claimed']), reason: seatReason.nullable() }).nullable(),
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
export const noBody = z.strictObject({});

/** Somebody in a log: a name where one is known, for people who left are forgotten. */
export const actorRecord = z.object({ principal: z.string(), name: z.string().nullable() });

const happening = z.object({
  id: eventId,
  type: z.string(),
  entity: entityRef.nullable(),
  payload: z.unknown(),
  at: timestamp,
});

/** `GET /api/orders/:order/history`: what happened, who did it, and what it set off. */
export const historyEntry = happening.extend({ actor: actorRecord, effects: z.array(happening) });
export type HistoryEntry = z.infer<typeof historyEntry>;
export const historyResponse = pageOf(historyEntry);

/** `GET /api/denials`: attempts that were refused, newest first. */
export const denialEntry = denialRecord.omit({ actor: true }).extend({
  actor: actorRecord,
  /** The permission in words. */
  wanted: z.string(),
});
export type DenialEntry = z.infer<typeof denialEntry>;
export const denialsResponse = pageOf(denialEntry);
