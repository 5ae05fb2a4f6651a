/** The bodies and answers of the invite routes. */
import { lineOfText, pageQuery, roleKey, toTimestamp } from '@freehold/contracts';
import { z } from 'zod';
import type { Invite, InvitePreview } from '../invites/operations.ts';

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

export const showInviteQuery = z.strictObject({ token: acceptInviteBody.shape.token });

export const listInvitesQuery = z.strictObject(pageQuery);

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

export function toPreviewRecord(preview: InvitePreview) {
  const { expiresAtMs, ...shown } = preview;
  return { ...shown, expiresAt: toTimestamp(expiresAtMs) };
}
