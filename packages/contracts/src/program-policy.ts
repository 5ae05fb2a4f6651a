/** The rule for which programs are let in, of an instance by its owner and of the control plane by its admins. */

/** `listed`: those of the listed hosts. */
export const PROGRAM_POLICIES = ['any', 'listed', 'none'] as const;

export interface AdmittedPrograms {
  readonly programs: (typeof PROGRAM_POLICIES)[number];
  /** Counts with `listed` alone. */
  readonly hosts: readonly string[];
}

/** A host name in lower case, a private-use scheme, or an IPv6 address in brackets. */
export const PROGRAM_HOST = /^[a-z0-9][a-z0-9.+-]{0,252}$|^\[[0-9a-f:.]+\]$/;
export const PROGRAM_HOSTS_MAX = 100;

/**
 * Whether a rule admits a program of this host. Null stands for a token without a host, which a person has asked for
 * themself: it is admitted unless none is.
 */
export function admitsProgram({ programs, hosts }: AdmittedPrograms, host: string | null): boolean {
  if (programs === 'any') return true;
  return programs === 'listed' && (host === null || hosts.includes(host));
}
