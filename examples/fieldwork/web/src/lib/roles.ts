/** The roles of the team, in the words of the page that gives them. */
import type { RoleKey } from '../../../src/lib/manifest.ts';

export const ROLES: readonly (readonly [key: RoleKey, name: string, what: string])[] = [
  ['technician', 'Technician', 'sees and works on what is assigned to them'],
  ['dispatcher', 'Dispatcher', 'plans all orders and sees customers and invoices'],
  ['owner', 'Owner', 'may do everything, this page included'],
];

/** "Technician"; an unknown role is shown by its key. */
export function roleName(key: string): string {
  return ROLES.find(([each]) => each === key)?.[1] ?? key;
}
