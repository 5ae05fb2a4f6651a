/**
 * Signing in and out inside workerd, with the identity directories in Durable Objects, against the certified
 * oidc-provider (A-20, A-21, A-22, A-25, A-39, B-01, B-03, B-10, B-11, B-12, B-13, B-14), and with accounts of the
 * directory's own.
 */
import { openInWorkerd } from './place-in-workerd.ts';
import { runStories } from './stories.ts';

// workerd has no argon2.
runStories({ openPlace: openInWorkerd, hashKind: 'scrypt' });
