import { signal } from '@angular/core';
import { TestBed } from '@angular/core/testing';
import { TablesConnection } from '@pointsman/live-table';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { PointsmanApi } from '../control/pointsman-api';
import { SystemStatus, systemState } from './system-status';
import { Watchdog } from './watchdog';

/** A connection whose status row reads as `at`, while what the page has heard of it is `row`. */
class Stage {
  at = 1;
  healed = 0;
  readonly connected = signal(true);
  readonly row = signal(systemState({ at: 1 }));
  readonly lastBeat = signal<number | null>(Date.now());

  readonly watchdog: Watchdog;

  constructor() {
    const view = { read: () => Promise.resolve([{ at: this.at }]), close: () => undefined };
    const connection = {
      connected: this.connected,
      state: () => 'connected',
      lostSince: () => null,
      acquire: () => Promise.resolve(view),
      heal: () => this.healed++,
    };
    TestBed.configureTestingModule({
      providers: [
        { provide: TablesConnection, useValue: connection },
        { provide: SystemStatus, useValue: { row: this.row, lastBeat: this.lastBeat } },
        { provide: PointsmanApi, useValue: { status: () => Promise.resolve({}) } },
      ],
    });
    this.watchdog = TestBed.inject(Watchdog);
  }

  /** News reaches the page, as it should. */
  hear(at: number): void {
    this.at = at;
    this.row.set(systemState({ at }));
    this.lastBeat.set(Date.now());
  }

  get troubles(): string[] {
    return this.watchdog.troubles().map(({ what }) => what);
  }
}

describe('Watchdog', () => {
  let stage: Stage;

  beforeEach(() => {
    vi.useFakeTimers();
    stage = new Stage();
  });
  afterEach(() => {
    TestBed.resetTestingModule();
    vi.useRealTimers();
  });

  it('tells of a silent pipeline within 10 s, and since when', async () => {
    const since = Date.now();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(stage.troubles).toEqual(['No heartbeat from the pipeline']);
    expect(stage.watchdog.troubles()[0]?.since).toBe(since);
    expect(stage.healed).toBe(0);
  });

  it('makes a new connection within 10 s when news exists that the page does not hear', async () => {
    stage.at = 2;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(stage.healed).toBe(1);
  });

  it('leaves a new connection alone whose first read is quicker than its subscription', async () => {
    stage.connected.set(false);
    await vi.advanceTimersByTimeAsync(20_000);
    stage.at = 2;
    stage.connected.set(true);
    await vi.advanceTimersByTimeAsync(1_500);
    stage.hear(3);
    await vi.advanceTimersByTimeAsync(3_000);
    expect([stage.healed, stage.troubles]).toEqual([0, []]);
  });

  it('leaves the connection alone when the pipeline returns while it looks', async () => {
    await vi.advanceTimersByTimeAsync(10_000);
    stage.at = 2;
    await vi.advanceTimersByTimeAsync(2_000);
    stage.hear(2);
    await vi.advanceTimersByTimeAsync(2_000);
    expect([stage.healed, stage.troubles]).toEqual([0, []]);
  });
});
