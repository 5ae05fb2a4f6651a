/**
 * The same stories on Node, with the identity directories in the embedded engine
 * (A-06, A-18, A-20, A-21, A-22, A-25, A-39, B-01, B-03, B-10, B-11, B-12, B-13, B-14).
 */
import { openOnNode } from './place-on-node.ts';
import { runStories } from './stories.ts';

runStories({ openPlace: openOnNode, hashKind: 'argon2id' });
