/** Runs all stories of one world, whatever runtime its application is in. */
import { afterAll, beforeAll, expect } from 'vitest';
import { accountsStory, type HashKind, UNREADABLE_HASH } from './accounts-story.ts';
import type { OpenPlace } from './place.ts';
import { programsStory } from './programs-story.ts';
import { signInStory } from './sign-in-story.ts';
import { openWorld, type World } from './world.ts';

/** Returns the open world. */
export type Current = () => World;

export interface StoryOptions {
  readonly openPlace: OpenPlace;
  /** The function that hashes new passwords in this runtime. */
  readonly hashKind: HashKind;
}

/** Opens a world, runs the stories, and closes it. */
export function runStories({ openPlace, hashKind }: StoryOptions): void {
  let opened: World | undefined;
  const world: Current = () => {
    if (opened === undefined) throw new Error('the world is not open');
    return opened;
  };
  beforeAll(async () => {
    opened = await openWorld(openPlace);
  }, 60_000);
  afterAll(async () => {
    try {
      // No error but the expected one occurred.
      expect(await opened?.incidents()).toEqual(hashKind === 'argon2id' ? [] : [UNREADABLE_HASH]);
    } finally {
      await opened?.close();
    }
  });

  accountsStory(world, hashKind);
  signInStory(world);
  programsStory(world);
}
