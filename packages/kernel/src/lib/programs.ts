/**
 * Calls that a person makes through a program. The kernel checks both: the person must hold the permission now, and the
 * grant must allow it. The grant never adds anything.
 */
import { PlatformError, type ProgramGrant, permissionKey, type VerticalManifest } from '@freehold/contracts';
import { z } from 'zod';

const named = { id: z.string(), name: z.string() };
export const programGrant: z.ZodType<ProgramGrant> = z.discriminatedUnion('access', [
  z.strictObject({ ...named, access: z.enum(['all', 'read']) }),
  z.strictObject({ ...named, access: z.literal('some'), permissions: z.array(permissionKey) }),
]);

/** The part of a question that a grant decides. */
export interface ProgramQuestion {
  /** Absent: the principal asks without a program. */
  readonly program?: ProgramGrant | undefined;
  readonly permission: string;
  /** Whether it would change anything. Default false. */
  readonly writes?: boolean;
}

export function isAllowedByGrant({ program, permission, writes = false }: ProgramQuestion): boolean {
  if (program === undefined || program.access === 'all') return true;
  return program.access === 'some' ? program.permissions.includes(permission) : !writes;
}

/** Returns the refusal of a permission that the grant withholds: it names the program. */
export function refusalOfGrant(
  { manifest }: { readonly manifest: VerticalManifest },
  { program, permission }: ProgramQuestion & { readonly program: ProgramGrant },
): PlatformError {
  const words = manifest.permissions[permission] ?? permission;
  const allowed = program.access === 'read' ? 'it may only read' : 'it was let in without this permission';
  return new PlatformError(
    'permission_denied',
    `${program.name} may not do this for you, because ${allowed}: ${words}. Let it in again to allow more.`,
    { reason: 'program_not_allowed' },
  );
}

/** Returns the program as rows store it: JSON with its grant and name. Null for a call without one. */
export function programColumn(program: ProgramGrant | undefined): string | null {
  return program === undefined ? null : JSON.stringify({ grant: program.id, name: program.name });
}

/** Returns the program of a stored row, to be spread into its record. */
export function storedProgram(column: string | null): { program?: { grant: string; name: string } } {
  return column === null ? {} : { program: JSON.parse(column) };
}
