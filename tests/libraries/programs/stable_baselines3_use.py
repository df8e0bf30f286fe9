"""stable-baselines3: PPO and DQN on CartPole (gymnasium), saved and loaded."""

import os
import tempfile

import gymnasium as gym
import torch
from report import report
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.logger import KVWriter, Logger

torch.set_num_threads(1)


class Rows(KVWriter):
    def __init__(self):
        self.rows = []

    def write(self, key_values, key_excluded, step=0):
        kept = {k: float(v) for k, v in key_values.items() if k.startswith(("train/", "rollout/"))}
        self.rows.append(kept)

    def close(self):
        pass


found = {}
for name, kind, options in (
    ("ppo", PPO, {"n_steps": 64, "batch_size": 32, "n_epochs": 2}),
    ("dqn", DQN, {"learning_starts": 50, "target_update_interval": 100, "buffer_size": 500}),
):
    rows = Rows()
    model = kind("MlpPolicy", gym.make("CartPole-v1"), seed=0, device="cpu", **options)
    model.set_logger(Logger(folder=None, output_formats=[rows]))
    model.learn(256, log_interval=1 if name == "ppo" else 4)
    with tempfile.TemporaryDirectory() as folder:
        model.save(os.path.join(folder, "model"))
        again = kind.load(os.path.join(folder, "model"), device="cpu")
    observation = model.get_env().reset()
    action = model.predict(observation, deterministic=True)[0]
    same = bool((again.predict(observation, deterministic=True)[0] == action).all())
    rewards = evaluate_policy(again, gym.make("CartPole-v1"), 2, warn=False)
    found[name] = {
        "rows": rows.rows, "same": same, "finite": rewards[0] > 0, "action": int(action[0]),
        "sums": [p.detach().double().sum() for p in model.policy.parameters()],
    }  # fmt: skip
report(**found)
