/** The bodies and answers of the invite routes. */
import { lineOfText, pageQuery, principalId, roleKey, timestamp, toTimestamp } from '@freehold/contracts';
import { z } from 'zod';
import type { Invite, InvitePreview, InviteState } from '../invites/operations.ts';

const DAY_SECONDS = 24 * 3_600;
/** A token has 22 characters; the room is for links that a mail program wrapped in something. */
const TOKEN_LENGTH_MAX = 128;

export const createInviteBody = z.strictObject({
  role: roleKey,
  email: z.email().max(320).optional(),
  name: lineOfText(200).optional(),
  ttlSeconds: z
    .int()
    .min(60)
    .max(30 * DAY_SECONDS)
    .optional(),
});

export const acceptInviteBody = z.strictObject({ token: z.string().min(1).max(TOKEN_LENGTH_MAX) });

/** Revoking takes no arguments: a body, if there is one, is empty. */
export const revokeInviteBody = z.strictObject({});

/** An invite as the routes answer it, without its token. */
export const inviteRecord = z
  .object({
    principal: principalId,
    role: roleKey,
    state: z.enum(['pending', 'accepted', 'revoked', 'expired'] satisfies InviteState[]),
    email: z.string().nullable(),
    name: z.string().nullable(),
    createdBy: z.string(),
    createdAt: timestamp,
    expiresAt: timestamp,
    acceptedAt: timestamp.nullable(),
    revokedAt: timestamp.nullable(),
  })
  .meta({ id: 'Invite' });

/** An invite as the holder of its link sees it. */
export const invitePreview = inviteRecord
  .pick({ role: true, state: true, email: true, name: true, expiresAt: true })
  .extend({ invitedBy: z.string().nullable() })
  .meta({ id: 'InvitePreview' });

/** The answer of `POST /api/invites`. */
export const createdInvite = z.object({
  invite: inviteRecord,
  url: z.string().describe('The link for the invited person; shown once'),
});

/** The answer of `POST /api/accept-invite`. */
export const acceptedInvite = z.object({ principal: principalId, role: roleKey });

export const showInviteQuery = z.strictObject({ token: acceptInviteBody.shape.token });

export const listInvitesQuery = z.strictObject(pageQuery);
export type ListQuery = z.output<typeof listInvitesQuery>;

/** Returns an invite as the routes answer it, without its token. */
export function toInviteRecord(invite: Invite) {
  return {
    principal: invite.principal,
    role: invite.role,
    state: invite.state,
    email: invite.email,
    name: invite.name,
    createdBy: invite.createdBy,
    createdAt: toTimestamp(invite.createdAtMs),
    expiresAt: toTimestamp(invite.expiresAtMs),
    acceptedAt: invite.acceptedAtMs === null ? null : toTimestamp(invite.acceptedAtMs),
    revokedAt: invite.revokedAtMs === null ? null : toTimestamp(invite.revokedAtMs),
  };
}

export type InviteRecord = ReturnType<typeof toInviteRecord>;
export type PreviewRecord = ReturnType<typeof toPreviewRecord>;

export function toPreviewRecord(preview: InvitePreview) {
  const { expiresAtMs, ...shown } = preview;
  return { ...shown, expiresAt: toTimestamp(expiresAtMs) };
}
